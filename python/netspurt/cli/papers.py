"""stub"""
import typer
app = typer.Typer()
@app.command("list")
def list_(): ...
@app.command("show")
def show(): ...
