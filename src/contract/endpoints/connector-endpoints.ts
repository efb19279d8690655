import { type EndpointTexts, json, reads } from '../endpoint.ts';
import { CONNECTOR_ID } from '../parameters.ts';
import { QUERIES } from '../routes.ts';
import { CONNECTOR, CONNECTOR_PAGE } from '../responses/connector-responses.ts';

export const CONNECTOR_ENDPOINTS = {
  listConnectors: {
    tag: 'connectors',
    summary: 'List the connectors',
    description: 'All connectors with their operations.',
    query: QUERIES.listConnectors,
    responses: { 200: json(CONNECTOR_PAGE, 'A page of connectors') },
    problems: reads(),
  },
  findConnector: {
    tag: 'connectors',
    summary: 'Get a connector',
    description: 'Includes its operations.',
    params: { id: CONNECTOR_ID },
    responses: { 200: json(CONNECTOR, 'The connector') },
    problems: reads('not_found'),
  },
} satisfies EndpointTexts;
