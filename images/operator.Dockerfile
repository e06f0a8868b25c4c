# The operator, which turns TrainingJobs into pods. Build it from the repository's root:
# docker build -f images/operator.Dockerfile -t capstan/operator:dev .
# A release names the base by its digest, which images/base.txt holds.
ARG BASE=docker.io/library/python:3.11-slim
FROM ${BASE} AS build
# Two environments: /build has pip and the build backend, and stays behind; /opt/capstan has neither.
RUN python -m venv /build && python -m venv --without-pip /opt/capstan
COPY requirements/build.txt requirements/operator.txt /src/requirements/
# Set these to use a package index of your own. The last stage, and so the image, has neither.
ARG PIP_INDEX_URL=
ARG PIP_TRUSTED_HOST=
# Only wheels with the locked hashes are installed, and nothing is compiled.
RUN pip --python /build/bin/python install --no-cache-dir --only-binary :all: --require-hashes \
      -r /src/requirements/build.txt \
 && pip --python /opt/capstan/bin/python install --no-cache-dir --only-binary :all: \
      --require-hashes -r /src/requirements/operator.txt
COPY operator /src/operator
# The operator itself, from the tree. Its requirements are installed already.
RUN /build/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation \
      --wheel-dir /wheels /src/operator \
 && pip --python /opt/capstan/bin/python install --no-cache-dir --no-deps /wheels/*.whl

FROM ${BASE}
COPY --from=build /opt/capstan /opt/capstan
COPY LICENSE NOTICE /usr/share/doc/capstan/
ARG VERSION=dev
LABEL org.opencontainers.image.title="Capstan's operator for TrainingJobs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# Logs are not buffered. The root file system may be read-only, so Python writes no bytecode. The
# user has no entry in /etc/passwd, so programs that ask for its name read USER.
ENV PATH=/opt/capstan/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp USER=capstan
# A number, so that a kubelet can check `runAsNonRoot` without reading the image's files.
USER 65532:65532
ENTRYPOINT ["python", "-m", "capstan_operator"]
