"""Operators on images and volumes: resizing and sampling."""
