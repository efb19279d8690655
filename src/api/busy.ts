import { overloaded } from '../decide/respond.ts';
import type { EndpointResponse } from './kit/endpoint-types.ts';

/** The response while too many searches of the decision log are running. */
export const BUSY: EndpointResponse = {
  kind: 'problem',
  problem: overloaded('searches', 'Too many searches are running.'),
};
