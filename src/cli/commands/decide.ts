import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { checkKeyText } from '../../core/key-text.ts';
import type { Cli } from '../context.ts';
import { failure, ok, type Outcome } from '../outcome.ts';

interface DecideOptions {
  readonly key: string;
  readonly url: string;
  readonly file?: string;
}

/** What is sent when no body is given: enough to see an answer with reasons. The address is one for documentation. */
const EXAMPLE = {
  event_type: 'login',
  session_token: 'example-session',
  ip: '198.51.100.7',
  user_agent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36',
  entity_keys: { email: 'someone@example.com' },
};

export function addDecide(cli: Cli): void {
  cli.program
    .command('decide')
    .description('sign a decide request, send it, and print the answer')
    .requiredOption('--key <key>', 'a secret or a public key')
    .option('--url <url>', 'where the service is', 'http://127.0.0.1:8080')
    .option('--file <path>', 'the JSON body, - for standard input; an example unless given')
    .action((options: DecideOptions) => cli.run(async () => decide(options, cli.io.stdin)));
}

async function decide(options: DecideOptions, stdin: Readable): Promise<Outcome> {
  if (checkKeyText(options.key) === null) {
    return failure('malformed_key', 'that is no whole key: its form or its checksum is wrong');
  }
  if (!URL.canParse(options.url) || !/^https?:$/.test(new URL(options.url).protocol)) {
    return failure('malformed_url', `${options.url} is no http or https address`);
  }
  let body: Uint8Array | object = EXAMPLE;
  try {
    if (options.file === '-') body = await buffer(stdin);
    else if (options.file !== undefined) body = await readFile(options.file);
  } catch (error) {
    return failure(
      'unreadable_file',
      `the body cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  // Loaded here alone: no other command speaks HTTP, and undici takes as long to load as all the rest.
  const { createClient } = await import('../../client/client.ts');
  const client = createClient({ url: options.url, key: options.key, connections: 1 });
  const answer = await client.decide(body);
  await client.close();
  if (answer.kind === 'unreachable') return failure('unreachable', `no answer from ${options.url}: ${answer.detail}`);
  const failed = answer.status < 200 || answer.status > 299;
  if (typeof answer.body !== 'object' || answer.body === null) {
    return failure('unexpected_answer', `the answer has status ${answer.status} and is no JSON object`);
  }
  return ok(answer.body, JSON.stringify(answer.body, null, 2), failed);
}
