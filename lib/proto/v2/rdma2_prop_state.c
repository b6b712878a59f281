/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies the properties that a peer sends to the values that are in effect, and keeps these values
 * valid. */
#include "rdma2_prop_state.h"

#define BIT(propid) (1u << (propid))
#define ALL_KNOWN   (BIT(RDMA2_PROPID_KNOWN_MAX + 1) - BIT(RDMA2_PROPID_RBSIZ))

static uint32_t at_least(uint32_t min, uint32_t value)
{
	return value < min ? min : value;
}

static uint32_t at_most(uint64_t max, uint32_t value)
{
	return value > max ? (uint32_t)max : value;
}

/* Computes send_bytes_max and 'buffer' from the size and the structure of the receive buffer as the
 * peer sent them. If size and structure do not agree, the results are safe for both
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 8.3). */
static void properties_derive(struct rdma2_properties *props)
{
	uint32_t bytes = props->rbsiz > 0 ? props->rbsiz : RDMA2_RBSIZ_DEFAULT;

	if (!props->has_buffer) {
		props->send_bytes_max = at_least(RDMA2_RBSIZ_MIN, bytes);
		rtr_buffer_default(&props->buffer, props->send_bytes_max);
		return;
	}
	if (props->rbsiz == 0)
		bytes = props->told.length;
	bytes = at_most(props->told.sum, at_most(props->told.length, bytes));
	props->send_bytes_max = at_least(RDMA2_RBSIZ_MIN, bytes);
	if (props->told.is_consistent && props->told.length >= RDMA2_RBSIZ_MIN)
		props->buffer = props->told;
	else
		rtr_buffer_default(&props->buffer, props->send_bytes_max);
}

void rdma2_properties_init(struct rdma2_properties *props)
{
	*props = (struct rdma2_properties){
		.bkreqsup = RDMA2_BKREQSUP_INLINE,
		.request_count_max = 1,
		.response_count_max = 1,
	};
	properties_derive(props);
}

static void set_buffer(struct rdma2_properties *props, const struct rdma2_propval *value)
{
	struct weir_xdr_in in;

	props->has_buffer = value->len_bytes > 0;
	weir_xdr_in_init(&in, value->data, value->len_bytes);
	/* rtr_buffer_get() cannot fail, because the message was accepted. */
	if (props->has_buffer)
		(void)rtr_buffer_get(&in, &props->told);
}

static void set(struct rdma2_properties *props, const struct rdma2_propval *value)
{
	switch (value->which) {
	case RDMA2_PROPID_RBSIZ:
		props->rbsiz = rdma2_propval_u32(value, RDMA2_RBSIZ_DEFAULT);
		if (props->rbsiz == 0)
			props->rbsiz = RDMA2_RBSIZ_MIN;
		break;
	case RDMA2_PROPID_BRS:
		props->bkreqsup =
			(enum rdma2_bkreqsup)rdma2_propval_u32(value, RDMA2_BKREQSUP_INLINE);
		break;
	case RDMA2_PROPID_RTRSUPP:
		props->rtrs = rdma2_propval_u32(value, 0);
		break;
	case RDMA2_PROPID_RBSTRUCT:
		set_buffer(props, value);
		break;
	case RDMA2_PROPID_REQRXLIM:
		props->request_count_max = at_least(1, rdma2_propval_u32(value, 1));
		break;
	case RDMA2_PROPID_RESPSXLIM:
		props->response_count_max = at_least(1, rdma2_propval_u32(value, 1));
		break;
	default:
		break; /* An unknown property is ignored (version 2, section 5.3.1). */
	}
}

static bool is_known(uint32_t which)
{
	return which >= RDMA2_PROPID_RBSIZ && which <= RDMA2_PROPID_KNOWN_MAX;
}

void rdma2_properties_start(struct rdma2_properties *props, const struct rdma2_propset *start,
			    const struct rdma2_propsubset *nochg)
{
	struct rdma2_propset left = *start;
	struct rdma2_propval value;

	rdma2_properties_init(props);
	props->fixed = ALL_KNOWN;
	for (uint32_t n = 0; rdma2_propset_next(&left, &value); n++) {
		set(props, &value);
		if (is_known(value.which) && value.which != RDMA2_PROPID_RBSTRUCT &&
		    !rdma2_propsubset_has(nochg, n))
			props->fixed &= ~BIT(value.which);
	}
	properties_derive(props);
}

uint32_t rdma2_properties_update(struct rdma2_properties *props, const struct rdma2_propset *now)
{
	struct rdma2_propset left = *now;
	struct rdma2_propval value;
	uint32_t refused = 0;

	while (rdma2_propset_next(&left, &value)) {
		if (!is_known(value.which))
			continue;
		if (props->fixed & BIT(value.which) || value.which == RDMA2_PROPID_RBSTRUCT)
			refused++;
		else
			set(props, &value);
	}
	properties_derive(props);
	return refused;
}
