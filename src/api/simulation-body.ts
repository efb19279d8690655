import { DECIDE_REQUEST } from '../contract/requests/decide-request-schema.ts';
import type { BodyReader } from './kit/request-body.ts';

/** Passes the body on as text; a score worker reads it as the body of a decide request. */
export const SIMULATION_BODY: BodyReader<string> = {
  name: 'simulation',
  shape: 'object',
  schema: DECIDE_REQUEST,
  read: (body) => JSON.stringify(body),
};
