from .drawing import draw as draw, drawing_name as drawing_name
from .gap import Gap as Gap, balance_sides as balance_sides, side_gap as side_gap
from .joint import JointMap as JointMap, joint_map as joint_map
from .layout import (
    align as align,
    mds_map as mds_map,
    pca_map as pca_map,
    umap_map as umap_map,
    unfold as unfold,
    warm_up as warm_up,
)
from .nearest import (
    Neighbors as Neighbors,
    Spot as Spot,
    kept_near as kept_near,
    nearest_across as nearest_across,
    place_among as place_among,
)
from .quality import Quality as Quality, map_quality as map_quality
from .regions import Region as Region, topic_regions as topic_regions, word_regions as word_regions
