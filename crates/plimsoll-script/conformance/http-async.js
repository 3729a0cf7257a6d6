/* { "own_context": "promises", "does": "asyncRequest gives promises; requests that wait for nothing go out together", "console": ["before", "200 200 POST", "204"], "requests": ["GET /get", "POST /post", "GET /status/204"] } */
import http from 'k6/http';
export default async function () {
  const both = [http.asyncRequest('GET', 'http://h.test/get'), http.asyncRequest('post', 'http://h.test/post', 'text')];
  console.log('before');
  const [one, two] = await Promise.all(both);
  console.log(one.status, two.status, two.request.method);
  await http.asyncRequest('GET', 'http://h.test/status/204').then((res) => console.log(String(res.status)));
}
