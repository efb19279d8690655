/** Choice: rows of one call. The overview counts as many, so that it and the page of reviews show the same number of open decisions. */
export const QUEUE_PAGE_ROWS = 500;
