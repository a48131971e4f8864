"""What an operator declares of hosts and resources, and the offline check of a router against it.

R004: before a router configuration is activated, every member's resource is found in the declared
topology, on the declared host, at the declared endpoint. Nothing is resolved, asked or contacted.
"""
