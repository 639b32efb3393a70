// Package image builds the container image without an engine, runs it, and stands for docker-compose.yml:
// `make image-test`. It holds tests only, behind the build tag image: they need root and take minutes.
package image
