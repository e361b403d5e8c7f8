"""Home: what simviz is, and demos that train on the spot; to a server, the app and its guard."""

import os

# OpenBLAS reads it when numpy is first imported: see simviz/__init__.py.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")

if __name__ == "__main__":  # a visitor opens the page
    from simviz.workbench import home

    home.show_page()
else:  # `streamlit run` imports what it is to serve
    from starlette.middleware import Middleware
    from streamlit.starlette import App

    from simviz.workbench.guard import Guard, exit_cleanly

    app = App(__file__, lifespan=exit_cleanly, middleware=[Middleware(Guard)])
