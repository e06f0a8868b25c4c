# Capstan's runtime: what a training program needs to `import capstan`. Built from the repository's
# root: docker build -f images/runtime.Dockerfile -t capstan/runtime:dev .
# A program's own image starts FROM this one; examples/digits/Dockerfile shows how.
FROM docker.io/library/python:3.11-slim AS build
# Two environments: one with pip and the build backend, which stays behind, and one without.
RUN python -m venv /build && python -m venv --without-pip /opt/capstan
COPY requirements/build.txt requirements/runtime.txt /src/requirements/
# Where pip finds them, for who builds behind an index of their own; neither is in the last stage.
ARG PIP_INDEX_URL=
ARG PIP_TRUSTED_HOST=
# Hashed wheels only: nothing is compiled, and nothing but what was locked gets in.
RUN pip --python /build/bin/python install --no-cache-dir --only-binary :all: --require-hashes \
      -r /src/requirements/build.txt \
 && pip --python /opt/capstan/bin/python install --no-cache-dir --only-binary :all: \
      --require-hashes -r /src/requirements/runtime.txt
COPY runtime /src/runtime
# Capstan itself, from the tree; all that it needs is there already.
RUN /build/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation \
      --wheel-dir /wheels /src/runtime \
 && pip --python /opt/capstan/bin/python install --no-cache-dir --no-deps /wheels/*.whl

FROM docker.io/library/python:3.11-slim
COPY --from=build /opt/capstan /opt/capstan
COPY LICENSE NOTICE /usr/share/doc/capstan/
# Logs appear as they are written. The root may be read-only, so nothing is compiled at run time, and
# what looks for a home finds the one folder that pods commonly make writable. The user is a number
# without an entry in /etc/passwd: who asks for its name finds this one.
ENV PATH=/opt/capstan/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp USER=capstan
# A number, so that `runAsNonRoot` can be checked without reading the image's files.
USER 65532:65532
CMD ["python"]
