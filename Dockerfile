# The app for a server: docker build -t simviz . && docker run -p 8501:8501 -v simviz:/data simviz
FROM python:3.11-slim

# torch comes with libraries for GPUs unless pip is shown an index with builds for processors only:
# docker build --build-arg PIP_EXTRA_INDEX_URL=... .
ARG PIP_EXTRA_INDEX_URL=""
# "[demos]" brings icons, "[neural]" torch, "[pretrained]" a sentence encoder too, "[onnx]" one more
# form of models.
ARG EXTRAS="[demos,neural,onnx]"

RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 fonts-noto-color-emoji \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 simviz \
    && mkdir /data && chown simviz /data

WORKDIR /srv/simviz
# Libraries first, beside an empty package: a change of the code installs none of them again.
COPY pyproject.toml README.md LICENSE ./
RUN mkdir simviz && touch simviz/__init__.py && pip install --no-cache-dir --editable ".${EXTRAS}"
COPY simviz simviz
COPY .streamlit .streamlit
COPY docs docs
COPY pages pages
COPY app.py ./
# Kernels are kept beside the code.
RUN chown -R simviz simviz

USER simviz
ENV SIMVIZ_HOME=/data \
    SIMVIZ_PUBLIC=1 \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_HEADLESS=true \
    STREAMLIT_CLIENT_SHOW_ERROR_DETAILS=none
VOLUME /data
EXPOSE 8501
# Where a proxy serves the app under a path, it is healthy there.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD python -c "import os, urllib.request as u; path = os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH', '').strip('/'); u.urlopen('/'.join(['http://127.0.0.1:8501', *path.split(), '_stcore/health']), timeout=4)"
# The first start compiles for its processor, in a process of its own, while pages are served.
CMD ["python", "-c", "from simviz import compilation; from streamlit.web import cli; compilation.start(); cli.main(['run', 'app.py', '--server.port', '8501'])"]
