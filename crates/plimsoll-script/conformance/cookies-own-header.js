/* { "does": "cookies of the jar stand behind those of a Cookie header, in one line", "console": ["[\"b=2; a=1\"]", "[\"b=2\"]", "[\"a=1\"]"] } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/cookies/set?a=1', { redirects: 0 });
  const lines = (params) => JSON.stringify(http.get('http://h.test/headers', params).request.headers.Cookie);
  console.log(lines({ headers: { Cookie: 'b=2' } }));
  console.log(lines({ headers: { Cookie: 'b=2' }, jar: null }));
  console.log(lines());
}
