from .code import (
    compare_code as compare_code,
    data_code as data_code,
    map_code as map_code,
    normalise_code as normalise_code,
    repeat_code as repeat_code,
    search_code as search_code,
)
from .files import query_csv as query_csv, trec_zip as trec_zip
from .html import html_report as html_report
