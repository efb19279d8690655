import type { Handler } from './exchange.ts';
import type { EndpointId, SecretEndpointId } from '../contract/routes.ts';

/** One handler for each endpoint id. */
export type Handlers<Id extends EndpointId = EndpointId> = Readonly<Record<Id, Handler>>;

/** Handlers of endpoints that take a secret key, which `endpoint` checks before it calls them. */
export type SecretHandlers<Id extends SecretEndpointId = SecretEndpointId> = Handlers<Id>;
