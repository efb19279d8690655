import { createGatehouse } from './gatehouse-api.ts';

/** The module form, to be bundled with the page's own code: `import { start, token } from '@gatehouse/collector'`. */
declare const COLLECTOR_VERSION: string;

const gatehouse = createGatehouse(null);

export const { start, token, decide, stop } = gatehouse;
export const version: string = COLLECTOR_VERSION;
