"""A Ray cluster of three nodes on this machine: prints its address, and is gone when its input ends."""
import sys

from ray.cluster_utils import Cluster

node = {"num_cpus": 2, "object_store_memory": 100_000_000}
cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **node})
for _ in range(2):
    cluster.add_node(**node)
cluster.wait_for_nodes()
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
