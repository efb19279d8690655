import type { Handler } from '../../http/exchange.ts';
import type { EndpointFactory } from './endpoint-factory.ts';
import type { AnyRequest, EndpointHandler, EndpointOptions, OptionsWithBody } from './endpoint-types.ts';

/** Returns a factory whose endpoints first wait for `ready`, for example until what other nodes have written can be read. */
export function endpointAfter(
  endpoint: EndpointFactory,
  ready: (request: Pick<AnyRequest, 'coverage'>) => Promise<void>,
): EndpointFactory {
  // Both forms of the factory take the same arguments; without a body its type is null.
  const create = endpoint as <Body>(options: EndpointOptions<Body>, handler: EndpointHandler<Body>) => Handler;
  function after(options: EndpointOptions, handler: EndpointHandler): Handler;
  function after<Body>(options: OptionsWithBody<Body>, handler: EndpointHandler<Body>): Handler;
  function after<Body>(options: EndpointOptions<Body>, handler: EndpointHandler<Body>): Handler {
    return create(options, async (request) => {
      await ready(request);
      return handler(request);
    });
  }
  const { work, refusalFields } = endpoint;
  return Object.assign(after, { work, refusalFields, drain: () => endpoint.drain() });
}
