import { describe, expect, it } from 'vitest';
import { npm } from '../../../../src/extract/connectors/npm.ts';
import { pypi } from '../../../../src/extract/connectors/pypi.ts';
import { npmWorld } from '../../../sources/npm.ts';
import { pypiWorld } from '../../../sources/pypi.ts';
import { json } from '../../../sources/source-case.ts';
import { operationNamed, ran } from './operation-runs.ts';

const KETTLE = { package: '@tea/kettle' };

describe('npm', () => {
  it('npm reads a complete package, with addresses that browsers can open and without addresses of e-mail', async () => {
    const { fields, source } = await ran(operationNamed(npm, 'package.details'), KETTLE, npmWorld(2));
    expect(fields).toEqual([
      {
        id: '@tea/kettle',
        url: 'https://www.npmjs.com/package/@tea/kettle',
        name: '@tea/kettle',
        version: '1.1.0',
        description: 'A kettle that logs',
        license: 'MIT',
        keywords: ['tea'],
        homepage_url: 'https://kettle.example/',
        repository_url: 'https://git.example.org/tea/kettle.git',
        bugs_url: 'https://git.example.org/tea/kettle/issues',
        author: { name: 'Mira', url: null },
        maintainers: ['mira'],
        dependencies: [{ name: 'whistle', versions: '^1.2.0' }],
        node_versions: '>=20',
        deprecation: 'It leaks',
        download_url: 'https://registry.npmjs.org/@tea/kettle/-/kettle-1.1.0.tgz',
      },
    ]);
    expect(source.urls).toEqual(['https://registry.npmjs.org/%40tea%2Fkettle/latest']);
  });

  it('npm gives versions by their dates, the newest first, with the tags that lead to them', async () => {
    const { fields } = await ran(operationNamed(npm, 'package.versions'), KETTLE, npmWorld(12));
    expect(fields.map(({ version }) => version).slice(0, 3)).toEqual(['1.11.0', '1.10.0', '1.9.0']);
    expect(fields[0]).toMatchObject({
      id: '@tea/kettle@1.11.0',
      url: 'https://www.npmjs.com/package/@tea/kettle/v/1.11.0',
      published_at: '1990-12-01T00:00:00Z',
      tags: ['latest', 'next'],
      license: 'MIT',
      author: { name: 'mira', url: 'https://www.npmjs.com/~mira' },
      deprecation: null,
    });
    expect(fields.at(-1)).toMatchObject({ version: '1.0.0', tags: ['old'] });
  });

  it('npm reads the abbreviated document of a package whose full one is too large', async () => {
    const { fields, source } = await ran(
      operationNamed(npm, 'package.versions'),
      KETTLE,
      npmWorld(3, { isLarge: true }),
    );
    expect(fields.map(({ version, published_at }) => [version, published_at])).toEqual([
      ['1.0.0', null],
      ['1.1.0', null],
      ['1.2.0', null],
    ]);
    expect(source.requests).toHaveLength(2);
  });

  it('npm reads a document with as many tags as versions in little time', async () => {
    const places = [...Array.from({ length: 60_000 }).keys()].map(String);
    const versions = Object.fromEntries(places.map((version) => [version, { name: 'x', version }]));
    const tags = Object.fromEntries(places.map((version) => [`tag${version}`, version]));
    const beganMs = process.cpuUsage().user / 1_000;
    const { fields } = await ran(operationNamed(npm, 'package.versions'), { package: 'x' }, () =>
      json({ name: 'x', versions, 'dist-tags': tags }),
    );
    expect(fields[59_999]).toMatchObject({ version: '59999', tags: ['tag59999'] });
    expect(process.cpuUsage().user / 1_000 - beganMs).toBeLessThan(15_000);
  });

  it('npm asks once if the registry refuses', async () => {
    const asked: string[] = [];
    const run = ran(operationNamed(npm, 'package.versions'), KETTLE, ({ url }) => {
      asked.push(url);
      return json({ error: 'No' }, {}, 403);
    });
    await expect(run).rejects.toMatchObject({ reason: 'access_denied' });
    expect(asked).toHaveLength(1);
  });

  it('npm finds nothing of a package that was unpublished', async () => {
    const gone = json({
      name: '@tea/kettle',
      time: { unpublished: { time: '2020-01-01T00:00:00Z', versions: ['1.0.0'] } },
    });
    const run = ran(operationNamed(npm, 'package.versions'), KETTLE, () => gone);
    await expect(run).rejects.toMatchObject({ reason: 'source_not_found' });
  });

  it('npm gives no address of a repository that browsers cannot open', async () => {
    const repository = { url: 'git+ssh://git@git.example.org/tea/kettle.git' };
    const { fields } = await ran(operationNamed(npm, 'package.details'), KETTLE, () =>
      json({ name: '@tea/kettle', version: '1.0.0', repository, homepage: 'javascript:alert(1)' }),
    );
    expect(fields[0]).toMatchObject({ repository_url: null, homepage_url: null, license: null, dependencies: [] });
  });
});

describe('pypi', () => {
  it('pypi reads a complete package, without addresses of e-mail and without the text of a licence', async () => {
    const { fields } = await ran(operationNamed(pypi, 'package.details'), { package: 'kettle' }, pypiWorld(1));
    expect(fields[0]).toEqual({
      id: 'Kettle',
      url: 'https://pypi.org/project/Kettle/',
      name: 'Kettle',
      version: '1.0',
      description: 'A kettle that logs',
      license: null,
      keywords: ['tea', 'kitchen'],
      homepage_url: 'https://kettle.example/',
      text: '# Kettle',
      text_type: 'text/markdown',
      author: { name: 'Mira Quist, Noor', url: null },
      links: [
        { name: 'Homepage', url: 'https://kettle.example/' },
        { name: 'Source', url: 'https://git.example.org/tea/kettle' },
      ],
      classifiers: ['Programming Language :: Python :: 3'],
      python_versions: '>=3.9',
      dependencies: ['whistle>=1.2', "steam ; extra == 'hot'"],
      published_at: '1990-02-01T00:05:00Z',
      is_yanked: false,
      yanked_reason: null,
      files: [
        {
          name: 'kettle-1.1-10.whl',
          url: 'https://files.pythonhosted.org/packages/30/52/kettle-1.1-10.whl',
          kind: 'bdist_wheel',
          bytes: 3795,
          sha256: '7a7a8b91086deccc54cac8d631e33f6a0e232ce5775c6be3dc44f86c2154019d',
          published_at: '1990-02-01T00:10:00Z',
        },
        expect.objectContaining({ name: 'kettle-1.1-5.whl', published_at: '1990-02-01T00:05:00Z' }),
      ],
    });
  });

  it('pypi gives versions by their first uploads, the newest first, and those without files last', async () => {
    const { fields } = await ran(operationNamed(pypi, 'package.versions'), { package: 'kettle' }, pypiWorld(12));
    expect(fields.map(({ id }) => id).slice(0, 2)).toEqual(['Kettle==1.11', 'Kettle==1.10']);
    expect(fields[0]).toMatchObject({
      url: 'https://pypi.org/project/Kettle/1.11/',
      is_yanked: true,
      yanked_reason: 'It leaks',
    });
    expect(fields[1]).toMatchObject({ is_yanked: false, yanked_reason: null });
    expect(fields[2]).toMatchObject({ version: '1.9', is_yanked: false, yanked_reason: null });
    expect(fields.at(-1)).toMatchObject({ version: '1.0', published_at: null, is_yanked: null, files: [] });
  });
});
