/* store/turn.c - collecting what one turn writes.
 *
 * Large parts (a node, a document) live on the heap and belong to the turn. */
#include "base/check.h"
#include "store/store.h"

struct store_op *store_turn_op(struct store_turn *t, enum store_op_kind kind)
{
    CHECK(kind >= STORE_PUT_SESSION);
    CHECK(kind < STORE_OP_KINDS);
    struct store_op *op = VEC_ADD(&t->ops);
    op->kind = kind;
    return op;
}

void store_turn_done(struct store_turn *t)
{
    VEC_EACH(op, &t->ops) {
        if (op->kind == STORE_PUT_NODE) mem_free(op->u.node);
        if (op->kind == STORE_PUT_DOC) mem_free(op->u.doc.text);
    }
    VEC_DONE(&t->ops);
    *t = (struct store_turn){0};
}

void store_turn_doc(struct store_turn *t, uint64_t session, struct str json)
{
    CHECK(session > 0);
    CHECK(json.n <= STORE_DOC_MAX);
    struct store_op *op = store_turn_op(t, STORE_PUT_DOC);
    op->u.doc.session = session;
    op->u.doc.text = mem_strndup(json.p, json.n);
}

static void put_node(struct store_turn *t, const struct node *n)
{
    struct node *copy = mem_alloc(sizeof(*copy));
    *copy = *n;
    store_turn_op(t, STORE_PUT_NODE)->u.node = copy;
}

void store_turn_change(struct store_turn *t, const struct change *c)
{
    switch (c->kind) {
    case CHANGE_SESSION:
        store_turn_op(t, STORE_PUT_SESSION)->u.session_row = c->u.session_row;
        return;
    case CHANGE_ALLOC:
        store_turn_op(t, STORE_PUT_ALLOC)->u.alloc_row = c->u.alloc_row;
        return;
    case CHANGE_ALLOC_GONE:
        store_turn_op(t, STORE_RELEASE_ALLOC)->u.alloc_row = c->u.alloc_row;
        return;
    case CHANGE_NODE: put_node(t, &c->u.node); return;
    case CHANGE_NODE_GONE: store_turn_op(t, STORE_REMOVE_NODE)->u.node_id = c->u.node.id; return;
    case CHANGE_GROUP: store_turn_op(t, STORE_PUT_GROUP)->u.group = c->u.group; return;
    case CHANGE_DOMAIN: store_turn_op(t, STORE_PUT_DOMAIN)->u.domain = c->u.domain; return;
    case CHANGE_PROJECT: store_turn_op(t, STORE_PUT_PROJECT)->u.project = c->u.project; return;
    case CHANGE_USER: store_turn_op(t, STORE_PUT_USER)->u.user = c->u.user; return;
    case CHANGE_RESERVATION:
        store_turn_op(t, STORE_PUT_RESERVATION)->u.reservation = c->u.reservation;
        return;
    case CHANGE_RESERVATION_GONE:
        store_turn_op(t, STORE_REMOVE_RESERVATION)->u.reservation_id = c->u.reservation.id;
        return;
    case CHANGE_HISTORY: store_turn_op(t, STORE_ADD_HISTORY)->u.history = c->u.history; return;
    case CHANGE_KINDS: break;
    }
    UNREACHABLE();
}
