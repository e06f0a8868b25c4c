# The operator: turns TrainingJobs into pods. Built from the repository's root:
# docker build -f images/operator.Dockerfile -t capstan/operator:dev .
FROM docker.io/library/python:3.11-slim AS build
# Two environments: one with pip and the build backend, which stays behind, and one without.
RUN python -m venv /build && python -m venv --without-pip /opt/capstan
COPY requirements/build.txt requirements/operator.txt /src/requirements/
# Where pip finds them, for who builds behind an index of their own; neither is in the last stage.
ARG PIP_INDEX_URL=
ARG PIP_TRUSTED_HOST=
# Hashed wheels only: nothing is compiled, and nothing but what was locked gets in.
RUN pip --python /build/bin/python install --no-cache-dir --only-binary :all: --require-hashes \
      -r /src/requirements/build.txt \
 && pip --python /opt/capstan/bin/python install --no-cache-dir --only-binary :all: \
      --require-hashes -r /src/requirements/operator.txt
COPY operator /src/operator
# The operator itself, from the tree; all that it needs is there already.
RUN /build/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation \
      --wheel-dir /wheels /src/operator \
 && pip --python /opt/capstan/bin/python install --no-cache-dir --no-deps /wheels/*.whl

FROM docker.io/library/python:3.11-slim
COPY --from=build /opt/capstan /opt/capstan
COPY LICENSE NOTICE /usr/share/doc/capstan/
# Logs appear as they are written. The root may be read-only, so nothing is compiled at run time.
# The user is a number without an entry in /etc/passwd: who asks for its name finds this one.
ENV PATH=/opt/capstan/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp USER=capstan
# A number, so that `runAsNonRoot` can be checked without reading the image's files.
USER 65532:65532
ENTRYPOINT ["python", "-m", "capstan_operator"]
