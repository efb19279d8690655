import type { JsonObject, JsonValue } from '../../base/connector.ts';
import { isoDate } from '../../read/dates.ts';
import { at, flagOf, integerOf, itemsOf, textMember, textsOf, urlOf } from './json.ts';
import * as schema from './schema.ts';

/** What the connectors of code hosts have in common, so that their records have the same columns. */

export const REPOSITORY_FIELDS = {
  name: schema.textField('Without its owner.'),
  full_name: schema.textField('`owner/name`.'),
  description: schema.textField('One line.'),
  homepage_url: schema.urlField('Its website.'),
  language: schema.textField('The language of most of its code.'),
  topics: schema.textsField('Its topics, as its owner set them.'),
  license: schema.textField('SPDX identifier.'),
  stars: schema.countField('Number of accounts that starred it.'),
  forks: schema.countField('Number of forks.'),
  open_issues: schema.countField('Number of open issues and pull requests.'),
  is_fork: schema.flagField('Whether it is a fork of another repository.'),
  is_archived: schema.flagField('Whether it is archived and read-only.'),
  default_branch: schema.textField('Name of the branch.'),
  created_at: schema.dateField('When it was created.'),
  updated_at: schema.dateField('When the data in this record last changed.'),
  pushed_at: schema.dateField('When it was last pushed to.'),
};

export const ISSUE_FIELDS = {
  number: schema.countField('Number of the issue in its repository.'),
  title: schema.textField('As it was written.'),
  text: schema.textField('Markdown.'),
  author: schema.authorField('The account; its name is its login.'),
  state: schema.textField('`open` or `closed`.'),
  state_reason: schema.textField('Why it is in that state, for example `completed`.'),
  labels: schema.textsField('Names.'),
  assignees: schema.textsField('Logins.'),
  milestone: schema.textField('Its title.'),
  comments: schema.countField('Number of comments.'),
  is_pull_request: schema.flagField('Whether it is a pull request.'),
  published_at: schema.dateField('When it was opened.'),
  updated_at: schema.dateField('When it last changed.'),
  closed_at: schema.dateField('When it was closed.'),
};

export const RELEASE_FIELDS = {
  title: schema.textField('Its name.'),
  tag: schema.textField('The tag from which it was made.'),
  text: schema.textField('Markdown.'),
  author: schema.authorField('The account; its name is its login.'),
  is_prerelease: schema.flagField('Whether it is marked as a pre-release.'),
  published_at: schema.dateField('When it was published.'),
  created_at: schema.dateField('When the commit was made.'),
  assets: schema.objectsField('Attached files.', {
    name: schema.textField('Name of the file.'),
    url: schema.urlField('The file.'),
    bytes: schema.countField('Its size.'),
    downloads: schema.countField('How often it was downloaded.'),
  }),
};

/** Input of the operations that list issues. */
export const ISSUE_STATE = schema.choiceInput('Which issues.', ['open', 'closed', 'all'], 'all');

/**
 * Reads a repository of GitHub's interface, which Gitea has too, under other names in part. `license`: the member of that name; none where
 * the host gives several.
 */
export function readGithubRepository(
  item: JsonObject,
  named: { readonly homepage: string; readonly stars: string; readonly license?: JsonObject },
): JsonObject {
  return {
    name: textMember(item['name']),
    full_name: textMember(item['full_name']),
    description: textMember(item['description']),
    homepage_url: urlOf(item[named.homepage]),
    language: textMember(item['language']),
    topics: textsOf(item['topics']),
    ...named.license,
    stars: integerOf(item[named.stars]),
    forks: integerOf(item['forks_count']),
    open_issues: integerOf(item['open_issues_count']),
    is_fork: flagOf(item['fork']),
    is_archived: flagOf(item['archived']),
    default_branch: textMember(item['default_branch']),
    created_at: isoDate(item['created_at']),
    updated_at: isoDate(item['updated_at']),
  };
}

/** Reads an issue of GitHub's interface, which Gitea has too. */
export function readGithubIssue(item: JsonObject): JsonObject {
  return {
    number: integerOf(item['number']),
    title: textMember(item['title']),
    text: textMember(item['body']),
    author: readLogin(item['user']),
    state: textMember(item['state']),
    state_reason: textMember(item['state_reason']),
    labels: textsOf(item['labels'], (label) => textMember(label) ?? textMember(at(label, 'name'))),
    assignees: textsOf(item['assignees'], (person) => textMember(at(person, 'login'))),
    milestone: textMember(at(item, 'milestone', 'title')),
    comments: integerOf(item['comments']),
    is_pull_request: isPullRequest(item),
    published_at: isoDate(item['created_at']),
    updated_at: isoDate(item['updated_at']),
    closed_at: isoDate(item['closed_at']),
  };
}

/** Reads a release of GitHub's interface, which Gitea has too. */
export function readGithubRelease(item: JsonObject): JsonObject {
  const assets = item['assets'];
  return {
    title: textMember(item['name']),
    tag: textMember(item['tag_name']),
    text: textMember(item['body']),
    author: readLogin(item['author']),
    is_prerelease: flagOf(item['prerelease']),
    published_at: isoDate(item['published_at']),
    created_at: isoDate(item['created_at']),
    assets: Array.isArray(assets) ? itemsOf(assets).map(readAsset) : null,
  };
}

/** GitHub and Gitea list pull requests among issues. */
export function isPullRequest(item: JsonValue): boolean {
  const pull = at(item, 'pull_request');
  return pull !== undefined && pull !== null;
}

function readAsset(asset: JsonValue): JsonObject {
  return {
    name: textMember(at(asset, 'name')),
    url: urlOf(at(asset, 'browser_download_url')),
    bytes: integerOf(at(asset, 'size')),
    downloads: integerOf(at(asset, 'download_count')),
  };
}

function readLogin(value: JsonValue | undefined): JsonObject | null {
  return schema.author(textMember(at(value, 'login')), urlOf(at(value, 'html_url')));
}
