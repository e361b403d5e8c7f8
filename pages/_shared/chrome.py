"""The frame around every page: its title, the sidebar, a little style."""

from __future__ import annotations

import streamlit as st

from pages._shared import warm

# Path, label, icon: the order of work.
PAGES = (("app.py", "Home", ":material/home:"),)

# Only what the theme cannot say: figures in columns align, and charts keep their distance.
STYLE = """
<style>
.stMarkdown, .stCaption, .sv-table { font-variant-numeric: tabular-nums; }
.sv-lead { font-size: 1.15rem; line-height: 1.6; max-width: 44rem; opacity: .85; }
.sv-finding { font-family: 'Iowan Old Style', 'Palatino Linotype', Palatino, Georgia, serif;
  font-size: 1.35rem; line-height: 1.5; max-width: 56rem; margin: .4rem 0 .2rem; }
.sv-card-size { opacity: .65; font-size: .9rem; }
.sv-table { border-collapse: collapse; width: 100%; font-size: .95rem; }
.sv-table th { text-align: right; font-weight: 500; opacity: .65; padding: .35rem .7rem;
  border-bottom: 1px solid color-mix(in srgb, currentColor 22%, transparent); }
.sv-table td { text-align: right; padding: .45rem .7rem; white-space: nowrap;
  border-bottom: 1px solid color-mix(in srgb, currentColor 9%, transparent); }
.sv-table th:first-child, .sv-table td:first-child { text-align: left; padding-left: 0; }
.sv-table .sv-base td { opacity: .6; }
.sv-table .sv-best { font-weight: 600; }
.sv-table .sv-se { opacity: .6; font-size: .85em; }
.sv-scroll { overflow-x: auto; }
</style>
"""


def begin(title: str) -> None:
    """Start a page: to be called before anything else is drawn.

    Parameters
    ----------
    title : str
        Name of the page, for the tab of the browser.
    """
    st.set_page_config(
        page_title=f"{title} · simviz" if title != "Home" else "simviz",
        page_icon=":material/hub:",
        layout="wide",
        initial_sidebar_state="auto",
    )
    st.html(STYLE)
    with st.sidebar:
        st.markdown("### simviz")
        st.caption("Learned similarity, measured honestly")
        for path, label, icon in PAGES:
            st.page_link(path, label=label, icon=icon)


def end() -> None:
    """Finish a page: what may wait until it is painted starts now."""
    warm.start()
