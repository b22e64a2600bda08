"""InferFlux on Ray Serve: see ../README.md."""
