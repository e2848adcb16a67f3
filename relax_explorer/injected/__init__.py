"""What `record` puts into the Python processes of a build: the folder stands on their PYTHONPATH, and its `sitecustomize` is loaded first."""
