# SecondOrder with its embedded database; the store is in the volume /data. DEPLOY.md says more.
#
#   docker build -t so-mcp .
#   docker run -i --rm -v so-store:/data so-mcp

# Debian 13: the database comes as a wheel that needs glibc 2.38 or newer.
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
WORKDIR /build
RUN python3 -m venv /opt/so-mcp
# The versions that were tested, and wheels alone: where one would have to be compiled, this fails.
COPY requirements.lock ./
RUN /opt/so-mcp/bin/pip install --no-cache-dir --constraint requirements.lock --only-binary :all: \
        setuptools
COPY . .
RUN /opt/so-mcp/bin/pip install --no-cache-dir --constraint requirements.lock --only-binary :all: \
        --no-build-isolation .

FROM ${BASE}
LABEL org.opencontainers.image.title="SecondOrder" \
      org.opencontainers.image.description="Theory-of-mind memory for agents, as an MCP server over FalkorDB" \
      org.opencontainers.image.licenses="MIT" \
      io.modelcontextprotocol.server.name="io.github.secondorder/so-mcp"
# Process 1 passes signals on, and takes in the database when whoever started it has left.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data so \
    && install --directory --owner so --group so --mode 0700 /data
COPY --from=build /opt/so-mcp /opt/so-mcp
ENV PATH=/opt/so-mcp/bin:$PATH \
    FALKORDB_LITE_PATH=/data/store
USER 10001:10001
WORKDIR /data
VOLUME /data
ENTRYPOINT ["tini", "--", "so-mcp"]
