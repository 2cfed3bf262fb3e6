# The Streamlit app as a container, and as a Docker Space: port 8501, no root, every cache in a folder it may write.
FROM python:3.12-slim

RUN useradd --create-home --uid 1000 crossmatch
USER crossmatch
WORKDIR /home/crossmatch/app

# The environment first: it changes less often than the code. Versions and hashes are those of requirements.lock.
COPY --chown=crossmatch Makefile pyproject.toml requirements.lock README.md LICENSE ./
RUN python -m venv .venv \
    && .venv/bin/python -m pip install --no-cache-dir -q uv \
    && VIRTUAL_ENV=.venv .venv/bin/uv pip sync --no-cache --require-hashes requirements.lock

COPY --chown=crossmatch . .
RUN VIRTUAL_ENV=.venv .venv/bin/uv pip install --no-cache --no-deps --no-build-isolation -e . \
    && mkdir -p /home/crossmatch/data

ENV CROSSMATCH_PUBLIC=1 \
    CROSSMATCH_HOME=/home/crossmatch/data \
    HF_HUB_OFFLINE=1 \
    PYTHONUNBUFFERED=1
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD [".venv/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]

# A Space (it sets SPACE_ID) shows the app in a frame of another site: there uploads need the cross-site cookie, which
# browsers take over https only.
CMD ["sh", "-c", "exec .venv/bin/streamlit run app.py --server.address=0.0.0.0 --server.port=8501 \
     --server.headless=true --server.maxUploadSize=20 --server.xsrfCookieSameSite=$([ -n \"$SPACE_ID\" ] && echo none || echo lax)"]
