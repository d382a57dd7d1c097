"""The scores that StereoSet's authors published (Nadeem et al., ACL 2021)."""
