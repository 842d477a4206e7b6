"""Certificates, and the exact checker that shares no code with the search that wrote them."""
