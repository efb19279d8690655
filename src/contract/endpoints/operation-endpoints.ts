import { type EndpointTexts, json } from '../endpoint.ts';
import { FORM_PROBLEMS } from '../problem-table.ts';
import { HEALTH, OPEN_API, READINESS, TEXT } from '../responses/operation-responses.ts';

export const OPERATION_ENDPOINTS = {
  health: {
    tag: 'operation',
    summary: 'Liveness check',
    responses: { 200: json(HEALTH, 'The process is alive') },
    problems: FORM_PROBLEMS,
  },
  readiness: {
    tag: 'operation',
    summary: 'Readiness check: which layers run, and why a layer does not',
    responses: {
      200: json(READINESS, 'The service accepts requests, degraded or not'),
      503: json(READINESS, 'The service starts, stops or accepts no decisions'),
    },
    problems: FORM_PROBLEMS,
  },
  openApi: {
    tag: 'operation',
    summary: 'This document',
    description: 'OpenAPI 3.1, for the version that responds.',
    responses: {
      200: json(OPEN_API, 'The document', ['Content-Encoding', 'ETag', 'Vary']),
      304: {
        description: 'The client already has this version (If-None-Match)',
        headers: ['ETag', 'Vary'],
      },
    },
    // While the service starts, everything except the two endpoints above gives `overloaded`.
    problems: [...FORM_PROBLEMS, 'overloaded'],
  },
  metrics: {
    tag: 'operation',
    summary: 'Metrics for Prometheus',
    responses: { 200: { description: 'Metrics', content: { 'text/plain': TEXT } } },
    problems: [...FORM_PROBLEMS, 'missing_credentials', 'overloaded', 'internal_error'],
  },
} satisfies EndpointTexts;
