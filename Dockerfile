# Builds the wheel in one stage, and runs the service from another without a compiler, as a user without rights.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ cmake ninja-build && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN wheel=$(ls /wheels/*.whl) && pip install --no-cache-dir "$wheel[web]" && rm -r /wheels \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin tagline
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s CMD \
    ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["tagline", "serve", "--host", "0.0.0.0"]
CMD ["-m", "/models/model.tagline"]
