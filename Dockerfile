# condrank serve in a container:
#   docker build -t condrank .
#   docker run -p 8000:8000 -e CONDRANK_TOKEN=... -v "$PWD/model:/model:ro" condrank
# The first stage builds the wheel, the second has only what the wheel needs.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY experiments experiments
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/condrank-*.whl)[serve,fast]" \
    && rm -r /wheels \
    && useradd --system --no-create-home --shell /usr/sbin/nologin condrank
USER condrank
ENV NUMBA_CACHE_DIR=/tmp/numba
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
# SIGTERM ends the service after the requests that it has begun.
ENTRYPOINT ["condrank", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--port", "8000"]
