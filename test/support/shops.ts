import { serve } from '@hono/node-server';
import express, { type Request as ExpressRequest, type Response as ExpressResponse } from 'express';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { Hono, type Context as HonoContext } from 'hono';
import Koa from 'koa';
import { createServer, type Server } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import type { Gatehouse } from '../../src/client/gatehouse.ts';
import { protectExpress } from '../../src/client/protect/protect-express.ts';
import { protectFastify } from '../../src/client/protect/protect-fastify.ts';
import { protectHono } from '../../src/client/protect/protect-hono.ts';
import { protectKoa } from '../../src/client/protect/protect-koa.ts';
import { protectNext } from '../../src/client/protect/protect-next.ts';
import type { GuardedRequest, ProtectOptions } from '../../src/client/protect/protection.ts';

/** The same shop in each framework, protected by the client's middleware. */

export interface ShopOptions extends Pick<
  ProtectOptions<unknown, readonly unknown[], unknown>,
  'mode' | 'trustProxy' | 'allowPrivateAddresses' | 'onError' | 'outcomeOf' | 'visitCookie'
> {
  /** Whether SOFT_CHALLENGE is answered by a handler, with 401 and `challenge`. */
  readonly challenges?: boolean;
  /** Called by the application before it answers. */
  readonly onLogin?: (guarded: GuardedRequest) => void;
}

export interface Shop {
  readonly url: string;
  close(): Promise<void>;
}

interface LoginForm {
  readonly email: string;
  readonly password: string;
}

/** `POST /login` with JSON: 200 with the right password, else 401; 302 with the password `redirect`. The text is the decision. */
function loginStatus({ password }: LoginForm): number {
  if (password === 'redirect') return 302;
  return password === 'right' ? 200 : 401;
}

function answer(options: ShopOptions, form: LoginForm, guarded: GuardedRequest): readonly [number, string] {
  options.onLogin?.(guarded);
  return [loginStatus(form), guarded.decision];
}

async function listening(server: Server): Promise<Shop> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return shopOf(server);
}

function shopOf(server: Server): Shop {
  const { port } = server.address() as { readonly port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function expressShop(client: Gatehouse, options: ShopOptions): Promise<Shop> {
  type Guarded = ExpressRequest & { gatehouse?: GuardedRequest };
  const app = express();
  app.use(express.json());
  const guard = protectExpress<Guarded, ExpressResponse>(client, 'login', {
    ...options,
    identify: (req) => ({ email: (req.body as LoginForm).email }),
    ...(options.challenges === true && {
      handlers: { SOFT_CHALLENGE: (_req, res) => void res.status(401).send('challenge') },
    }),
  });
  app.post('/login', guard, (req: Guarded, res) => {
    const [status, text] = answer(options, req.body as LoginForm, req.gatehouse as GuardedRequest);
    res.status(status).send(text);
  });
  return listening(createServer(app));
}

async function fastifyShop(client: Gatehouse, options: ShopOptions): Promise<Shop> {
  type Guarded = FastifyRequest & { gatehouse?: GuardedRequest };
  const app = fastify();
  const preHandler = protectFastify<Guarded, FastifyReply>(client, 'login', {
    ...options,
    identify: (request) => ({ email: (request.body as LoginForm).email }),
    ...(options.challenges === true && {
      handlers: { SOFT_CHALLENGE: (_request, reply) => reply.code(401).send('challenge') },
    }),
  });
  app.post('/login', { preHandler }, async (request: Guarded, reply) => {
    const [status, text] = answer(options, request.body as LoginForm, request.gatehouse as GuardedRequest);
    return reply.code(status).send(text);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return shopOf(app.server);
}

function koaShop(client: Gatehouse, options: ShopOptions): Promise<Shop> {
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx, next) => {
    (ctx.request as { body?: unknown }).body = await readJson(ctx.req);
    await next();
  });
  const formOf = (ctx: Koa.Context): LoginForm => (ctx.request as unknown as { readonly body: LoginForm }).body;
  app.use(
    protectKoa<Koa.Context>(client, 'login', {
      ...options,
      identify: (ctx) => ({ email: formOf(ctx).email }),
      ...(options.challenges === true && {
        handlers: { SOFT_CHALLENGE: (ctx) => Object.assign(ctx, { status: 401, body: 'challenge' }) },
      }),
    }),
  );
  app.use((ctx) => {
    const [status, text] = answer(options, formOf(ctx), ctx.state['gatehouse'] as GuardedRequest);
    ctx.status = status;
    ctx.body = text;
  });
  const listener = app.callback();
  return listening(createServer((request, response) => void listener(request, response)));
}

function honoShop(client: Gatehouse, options: ShopOptions): Promise<Shop> {
  type Guarded = HonoContext<{ Variables: { gatehouse: GuardedRequest } }>;
  const app = new Hono<{ Variables: { gatehouse: GuardedRequest } }>();
  const guard = protectHono<Guarded>(client, 'login', {
    ...options,
    identify: async (c) => ({ email: (await c.req.json<LoginForm>()).email }),
    ...(options.challenges === true && { handlers: { SOFT_CHALLENGE: (c) => c.text('challenge', 401) } }),
  });
  app.post('/login', guard, async (c) => {
    const [status, text] = answer(options, await c.req.json<LoginForm>(), c.get('gatehouse'));
    return c.text(text, status as 200);
  });
  app.onError((_error, c) => c.text('failed', 500));
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(shopOf(server as Server)));
  });
}

/** A route handler as Next.js calls it, behind node:http, which plays the proxy that Next.js always has. */
function nextShop(client: Gatehouse, options: ShopOptions): Promise<Shop> {
  const POST = protectNext(client, 'login', {
    ...options,
    identify: async (request) => ({ email: ((await request.json()) as LoginForm).email }),
    ...(options.challenges === true && {
      handlers: { SOFT_CHALLENGE: () => new Response('challenge', { status: 401 }) },
    }),
    addressOf: () => '127.0.0.1',
  })(async (request) => {
    const [status, text] = answer(options, (await request.json()) as LoginForm, request.gatehouse);
    return new Response(text, { status });
  });
  return listening(
    createServer((incoming, outgoing) => {
      const request = new Request(`http://shop.test${incoming.url}`, {
        method: 'POST',
        headers: incoming.headers as Record<string, string>,
        body: Readable.toWeb(incoming) as ReadableStream,
        duplex: 'half',
      });
      Promise.resolve(POST(request)).then(
        async (response) => {
          outgoing.writeHead(response.status, Object.fromEntries(response.headers));
          outgoing.end(await response.text());
        },
        () => outgoing.writeHead(500).end(),
      );
    }),
  );
}

export const SHOPS = {
  express: expressShop,
  fastify: fastifyShop,
  hono: honoShop,
  koa: koaShop,
  next: nextShop,
} as const;
