import * as z from 'zod';
import { body, type EndpointTexts, json, noContent, optionalBody, reads, writes, writesBody } from '../endpoint.ts';
import { BODIES } from '../bodies.ts';
import { QUERIES } from '../routes.ts';
import { API_KEY_PAGE, ME, NEW_API_KEY } from '../responses/account-responses.ts';

const PREFIX = z.string().meta({ description: 'The first 12 characters of one of your valid keys' });

export const ACCOUNT_ENDPOINTS = {
  readMe: {
    tag: 'account',
    summary: 'The customer and the key of this call, and the policy that applies to it',
    guide: '200 with the customer, the key, its rate limits and the version of the policy',
    responses: { 200: json(ME, 'The customer and the key') },
    problems: reads(),
  },
  listKeys: {
    tag: 'account',
    summary: "The caller's own keys, oldest first, and how they were used",
    description:
      'Revoked keys are listed too. The use is counted in memory since the last start, for the last 24 hours in whole hours; only ' +
      'calls whose key was verified count. A key itself is never shown.',
    guide: '200 with a page of keys, oldest first, with their use in the last 24 hours',
    query: QUERIES.listKeys,
    responses: { 200: json(API_KEY_PAGE, 'A page of keys', ['X-SVC-Partial']) },
    problems: reads(),
  },
  createKey: {
    tag: 'account',
    summary: 'Make a key',
    description:
      'Needs the scope `admin`. The new key has at most the scopes, networks and expiry of the calling key (403 `key_not_allowed` ' +
      'otherwise), and its allowance. A key with the scope `decide` comes with a public key. The texts are in this response only.',
    guide:
      'Body: `name`, and optionally `scopes` (`gate`, `decide`, `read`, `write`, `admin`), `expires_at`, `networks`, `test: true`, or `gate: true`. 201 ' +
      'with the key, shown only once; 409 `limit_reached` at 200 valid keys',
    body: body(BODIES.createKey),
    responses: { 201: json(NEW_API_KEY, 'The key, and its text') },
    problems: writesBody('limit_reached'),
  },
  rotateKey: {
    tag: 'account',
    summary: 'Replace a key',
    description:
      'Needs the scope `admin`, and at least the rights of the key. The new key has the name, rights, allowance and origins of the old ' +
      'one. The old key is refused from this response on, or with `grace_seconds` stays valid for that time, at most to its own expiry.',
    guide:
      'The body `{"grace_seconds":86400}` is optional, 0 to 604,800: the old key stays valid for this time, by default none. 201 with the new ' +
      'key, shown only once; with a time 409 `limit_reached` at 200 valid keys',
    params: { prefix: PREFIX },
    body: optionalBody(BODIES.rotateKey),
    responses: { 201: json(NEW_API_KEY, 'The new key, and its text') },
    problems: writesBody('not_found', 'limit_reached'),
  },
  revokeKey: {
    tag: 'account',
    summary: 'Revoke a key',
    description:
      'Needs the scope `admin`. Every node refuses the key before this response is sent. Its public key stays valid: delete that by its prefix.',
    guide: '204; the key is refused from then on',
    params: { prefix: PREFIX },
    responses: { 204: noContent('The key is revoked') },
    problems: writes('not_found'),
  },
} satisfies EndpointTexts;
