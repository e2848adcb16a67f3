"""Real builds, made by TVM itself: what people have of them."""
