int Provide();
int main() { return Provide(); }
