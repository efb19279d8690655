/** The package has no types of its own. These cover the part that is used. */
declare module 'aws4' {
  interface SignRequest {
    readonly method: string;
    readonly host: string;
    /** With the query, percent-encoded. */
    readonly path: string;
    readonly service: string;
    readonly region: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  }
  interface SignCredentials {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  }
  const aws4: {
    /** Returns the headers with `Authorization` added. Also modifies the request itself. */
    sign(request: SignRequest, credentials: SignCredentials): { readonly headers: Record<string, string> };
  };
  export default aws4;
}
