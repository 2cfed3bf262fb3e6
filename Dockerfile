# The Streamlit app as a container, and as a Docker Space: port 8501, no root, every cache in a folder it may write.
# The base by its digest: the same bytes in every build. Seen as `python:3.12.14-slim-trixie`, an index of all platforms,
# in ten public repositories in autumn 2026; a newer one: `docker buildx imagetools inspect python:3.12-slim`.
FROM python:3.12-slim@sha256:f77ac9e44ae96ef2c90b8053ea08c31f8be030f824196b0ae4db6d462c84e51f

RUN useradd --create-home --uid 1000 crossmatch
USER crossmatch
WORKDIR /home/crossmatch/app

# The environment first: it changes less often than the code. Versions and hashes are those of requirements.lock.
COPY --chown=crossmatch Makefile pyproject.toml requirements.lock README.md LICENSE ./
RUN python -m venv .venv \
    && .venv/bin/python -m pip install --no-cache-dir -q uv==0.13.9 \
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
# browsers take over https only. Its proxies have private addresses and say whom they ask for; elsewhere name your proxy
# in FORWARDED_ALLOW_IPS (addresses, never *), or all visitors share the limits of one.
CMD ["sh", "-c", "[ -z \"$SPACE_ID\" ] || { SAME=none; export FORWARDED_ALLOW_IPS=${FORWARDED_ALLOW_IPS:-10.0.0.0/8}; }; \
     exec .venv/bin/streamlit run app.py --server.address=0.0.0.0 --server.port=8501 --server.headless=true \
     --server.maxUploadSize=20 --server.maxMessageSize=1 --server.xsrfCookieSameSite=${SAME:-lax}"]
