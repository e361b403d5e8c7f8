from .joint import (
    JointMap as JointMap,
    ModalityGap as ModalityGap,
    align_sides as align_sides,
    joint_map as joint_map,
    side_gap as side_gap,
)
from .layout import (
    align as align,
    mds_map as mds_map,
    pca_map as pca_map,
    umap_map as umap_map,
    unfold as unfold,
)
from .pipeline_map import (
    Neighbors as Neighbors,
    Spot as Spot,
    draw as draw,
    nearest_across as nearest_across,
    neighbor_preservation as neighbor_preservation,
    neighbors_changed as neighbors_changed,
    project_new_items as project_new_items,
)
from .quality import Quality as Quality, map_quality as map_quality
from .regions import Region as Region, topic_regions as topic_regions, word_regions as word_regions
from .two_sided import two_sided_map as two_sided_map
