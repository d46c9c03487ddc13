/* cli/cluster.h - what else is done to machines: verbs of `rota node` and `rota admin`. */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

int cluster_cordon(int argc, char **argv);   /* rota node cordon */
int cluster_drain(int argc, char **argv);    /* rota node drain */
int cluster_uncordon(int argc, char **argv); /* rota node uncordon, undrain */
int cluster_orphans(int argc, char **argv);  /* rota admin orphans */
int cluster_orphan(int argc, char **argv);   /* rota admin orphan ... */
int cluster_silence(int argc, char **argv);  /* rota admin silence ... */

#endif
