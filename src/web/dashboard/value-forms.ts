/** Forms of values that open a page at once. */
export const REQUEST_ID_FORM = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;
export const HASH_FORM = /^[0-9a-f]{64}$/i;
