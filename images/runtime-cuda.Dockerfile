# Capstan's runtime with CuPy and the user space of CUDA 13, for nodes with NVIDIA's driver 580 or newer.
# Build capstan/runtime:dev first, then from the repository's root:
# docker build -f images/runtime-cuda.Dockerfile -t capstan/runtime-cuda:dev .
ARG RUNTIME=capstan/runtime:dev
FROM ${RUNTIME} AS build
USER 0
COPY requirements/cuda.txt /
# Set these to use a package index of your own. The last stage, and so the image, has neither.
ARG PIP_INDEX_URL=
ARG PIP_TRUSTED_HOST=
# Only wheels with the locked hashes are installed: CuPy's, and NVIDIA's with the libraries of CUDA. They
# need some 3 GB. pip finds NumPy in Capstan's environment, and does not fetch it again.
RUN pip --python /opt/capstan/bin/python install --no-cache-dir --only-binary :all: \
      --require-hashes --prefix /added -r /cuda.txt

FROM ${RUNTIME}
COPY --from=build /added /opt/capstan
ARG VERSION=dev
# NVIDIA's container runtime mounts the driver's libraries for computing and the command nvidia-smi. The
# device plugin chooses the GPUs, so this image does not set NVIDIA_VISIBLE_DEVICES.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
LABEL org.opencontainers.image.title="Capstan's runtime with CuPy and CUDA 13" \
      org.opencontainers.image.version="${VERSION}"
