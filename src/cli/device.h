/* cli/device.h - an operator's word on one device of a node. */
#ifndef CLI_DEVICE_H
#define CLI_DEVICE_H

int device_order(int argc, char **argv); /* rota admin device */

#endif
