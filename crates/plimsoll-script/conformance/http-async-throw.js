/* { "own_context": "promises", "does": "a promise is rejected where a request would have thrown", "console": ["true", "0"], "warnings": ["connection refused"] } */
import http from 'k6/http';
export default async function () {
  try {
    await http.asyncRequest('GET', 'http://refused.test/', null, { throw: true });
  } catch (error) {
    console.log(String(error).includes('connection refused'));
  }
  const res = await http.asyncRequest('GET', 'http://refused.test/');
  console.log(String(res.status));
}
