"""The pages of the documentation: what they show is what happens, and the site that is made of them."""
