/* cli/cluster.h - verbs of `rota admin` about machines. */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

int cluster_silence(int argc, char **argv); /* rota admin silence ... */

#endif
