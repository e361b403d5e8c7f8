from ._ranks import (
    Discount as Discount,
    Gain as Gain,
    Ranking as Ranking,
    expected_auc as expected_auc,
    expected_average_precision as expected_average_precision,
    expected_ndcg_at as expected_ndcg_at,
    expected_precision_at as expected_precision_at,
    expected_recall_at as expected_recall_at,
    expected_reciprocal_rank as expected_reciprocal_rank,
    expected_success_at as expected_success_at,
    rank_block as rank_block,
    rank_listed as rank_listed,
)
