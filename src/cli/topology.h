/* cli/topology.h - how the devices of a node reach each other, as a matrix. */
#ifndef CLI_TOPOLOGY_H
#define CLI_TOPOLOGY_H
#include "base/strbuf.h"

/* `object` is a struct node_view.  Prints what `nvidia-smi topo -m` would. */
void topology_show(const void *object, struct strbuf *b);

#endif
